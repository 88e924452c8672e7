from hadamard_tui.api import BadInput as BadInput
from hadamard_tui.api import Experiment as Experiment
from hadamard_tui.api import Judgement as Judgement
from hadamard_tui.api import Preset as Preset
from hadamard_tui.api import Run as Run
from hadamard_tui.api import Trace as Trace
from hadamard_tui.api import assert_invariant as assert_invariant
from hadamard_tui.api import judge as judge
from hadamard_tui.api import load as load
from hadamard_tui.api import load_parts as load_parts
from hadamard_tui.api import run as run
from hadamard_tui.api import start as start
from hadamard_tui.api import sweep as sweep
from hadamard_tui.api import verify as verify

NAME: str
API: tuple[str, ...]
