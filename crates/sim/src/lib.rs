//! A whole database run from one seed, with faults, against a model.
