# The models of the protocols, for make check where spin is installed: one case of each kind. `make model` has all.
MODELLING := 'tests/model/run --short'
