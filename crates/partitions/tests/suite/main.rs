//! The tests of partitions: golden scripts that tell stories, and laws that hold for any story.

mod crashes;
mod golden;
mod maps;
mod media;
mod oscillation;
mod records;
mod sampling;
mod script;
mod workload;
mod world;
