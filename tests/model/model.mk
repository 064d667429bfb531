# The models of the protocols, for make check: under a minute of CPU time where spin is installed.
MODELLING := tests/model/run
