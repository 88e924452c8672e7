from engine.api import Judgement as Judgement
from engine.api import Preset as Preset
from engine.api import Run as Run
from engine.api import Trace as Trace
from engine.api import assert_invariant as assert_invariant
from engine.api import judge as judge
from engine.api import load as load
from engine.api import load_parts as load_parts
from engine.api import run as run
from engine.api import start as start
from engine.api import sweep as sweep
from engine.api import verify as verify
from engine.core.parts import BadInput as BadInput
from engine.spec.experiment import Experiment as Experiment

__version__: str
API: tuple[str, ...]
