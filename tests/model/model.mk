# The models of the protocols, for make check: a few seconds where spin is installed.
MODELLING := tests/model/run
