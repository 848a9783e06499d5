//! What goes wrong between the steps of a commit across engines: coordinators die, engines crash.

use db::{Fatality, Step};
use parking_lot::Mutex;
use storage::EngineId;

use crate::chance::Chance;
use crate::ground::Tanks;

/// One step in this many is followed by a death, and one by a crash, while doom is armed.
const ONE_IN: u64 = 6;

/// What happened at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    Died(Step),
    Crashed(EngineId, Step),
}

#[derive(Debug)]
pub(crate) struct Doom {
    chance: Chance,
    tanks: Tanks,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    blows: Vec<Blow>,
}

impl Doom {
    pub(crate) fn new(seed: u64, tanks: Tanks) -> Self {
        Self {
            chance: Chance::new(seed),
            tanks,
            state: Mutex::default(),
        }
    }

    pub(crate) fn arm(&self, armed: bool) {
        self.state.lock().armed = armed;
    }

    /// What happened since the last call.
    pub(crate) fn take_blows(&self) -> Vec<Blow> {
        std::mem::take(&mut self.state.lock().blows)
    }
}

impl Fatality for Doom {
    fn survives(&self, step: Step) -> bool {
        let mut state = self.state.lock();
        if !state.armed {
            return true;
        }
        if self.chance.one_in(ONE_IN) {
            let mut engines = self.tanks.engines();
            engines.retain(|id| *id != EngineId::META || self.chance.one_in(8));
            if let Some(engine) = self.chance.pick(&engines) {
                self.tanks.crash(engine, &self.chance);
                state.blows.push(Blow::Crashed(engine, step));
            }
        }
        let dies = self.chance.one_in(ONE_IN);
        if dies {
            state.blows.push(Blow::Died(step));
        }
        !dies
    }
}
