# The models of the protocols, for make check: some 50 seconds of CPU time where spin is installed.
MODELLING := tests/model/run
