"""The ten presets of the specification of frames, as printed there: each gives its picture.

They have no titles and stories, and run at a small size here. OTHERWISE lists the words of presets that have
changed since, with reasons; the rest of the print is unchanged.
"""

import tomllib

import numpy as np
import pytest

from engine.core.parts import BadInput
from engine.results.results import Results
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.documents import sweep_of
from engine.spec.experiment import pictures_of
from engine.spec.reading import apply

PRINTED = """
# edge-of-stability
axes=[{name="eta",values=[0.05,0.1,0.2,0.3]}]
problem={matrix={kind="gaussian",n=100,d=20},target="coin"}
protocol={kind="steps",steps="300/eta",records=150}
learners=[{name="GD",architecture={kind="dense",widths=[32,32]},update={kind="gd",lr="eta"}}]
pictures=[{x="eta*step",measure="sharpness",curves="eta",relative="two-over-eta"}]
# kernel-to-rich
axes=[{name="alpha",from=10,to=1e-6,log=true}]
problem={matrix={kind="sparse",n=100,d=1000},target="sparse",noise=0.1}
learners=[{name="D=2",solver={kind="min-q",alpha="alpha"}},{name="l1",solver="basis-pursuit",role="reference"}]
pictures=[{x="alpha",measure="excess-risk"}]
# threshold-sample-size
axes=[{name="size",from=16,to=4096,log=true},{name="rows",from=4,to=2048,log=true,until="read"}]
problem={matrix={kind="gaussian",n="rows",d="size"},target="feature",labels="sign"}
protocol={kind="steps",loss="logistic",steps=100,records=1}
learners=[{name="L1",solver="l1-logistic"},
 {name="GD",architecture="linear",update={kind="gd",lr=1},rate_unit="start-sharpness",where="size<=128"}]
pictures=[{x="size",measure="angle-error",read={over="rows",first_below=0.1,of="mean"}}]
claims=[{kind="slope",curve="GD",between=[0.9,1.15]}]
# criticality
axes=[{name="cw",values=[1,1.5,2,2.5]}]
problem={matrix={kind="sphere",n=1,d=256}}
learners=[{name="net",architecture={kind="dense",depth=50,width=256,cw="cw"}}]
pictures=[{x="layer",y="cw",measure="layer-variance",contours=[{line="chi-perp",level=1}]}]
# gmm-spectrum
axes=[{name="mix",values=[{K=2,C=2},{K=3,C=3}]}]
problem={matrix={kind="clusters",classes="K",centres="C",n=240,d=20},target="classes"}
learners=[{name="net",architecture="dense"}]
pictures=[{x="j",measure="jacobian-spectrum",times="1/sqrt(n)",curves="mix",lines=[{kind="mark",x="K^2*C"}]}]
claims=[{kind="largest-gap",at="K^2*C",share=1}]
# max-margin (minimisers-margin: x={measure="margin",from=1,to=1000})
problem={matrix="separable",target="feature",labels="sign"}
protocol={kind="steps",loss="exponential",steps=3000,until={clock="time",above=1e12}}
learners=[{name="GD",architecture="linear",update={kind="gd",lr=0.05},schedule="per-loss"}]
pictures=[{x="time",measure={kind="distance",to="max-margin"},times="log(time)"}]
# kernel-gp
problem={matrix={kind="interval",n=12},target={kind="function",f="sin(2*x)"},noise=0.1}
learners=[{name="KRR",solver={kind="kernel",kernel="rbf",lam=0.1}},{name="RFF",solver="random-features"}]
pictures=[{x="input",measure="function",points="train",lines=["gp-band"]}]
# matrix-hadamard: default picture loss(k); `percolation` asks data.order
problem={matrix={kind="outer",factors=[16,16]},target="feature"}
protocol="erm"
learners=[{name="path",solver="path-rule"}]
claims=[{kind="line",curve="path",follows="percolation",within=1e-9}]
# junk-flow: the line runs the same learner on labels 0
axes=[{name="degree",set="problem.target.degree",values=[1,2,3,"any"]}]
problem={matrix={kind="cube",bits=16},target="parity"}
protocol={kind="steps",steps=6}
learners=[{name="net",architecture="dense",update={kind="noisy-gd",lr=0.1,sigma=0.05}}]
pictures=[{x="degree",measure="accuracy",draw="bars"}]
# linear-regions
axes=[{name="L",values=[1,2,4]},{name="w",values=[16,32]}]
learners=[{name="net",architecture={kind="dense",depth="L",width="w",cb=1}}]
pictures=[{x="L*w",measure="pieces",curves="L"},{x="s",y="t",measure="cells",at={L=2,w=16},summary="first"}]
"""

NOISY = '{kind="gd",lr=0.1},noise={sigma=0.05,on="weights"}', "noise is added to any rule, by the learner"
OTHERWISE = {
    "threshold-sample-size": [
        ("claims=[{", 'claims=[{text="slope",', "a claim says in words what it claims")
    ],
    "gmm-spectrum": [("share=1}", 'share=1,text="gap"}', "a claim says in words what it claims")],
    "max-margin": [
        ('{kind="distance",to="max-margin"}', '"distance"', "who tends where is said of each learner"),
        ('schedule="per-loss"', 'schedule="per-loss",tends_to="max-margin"', "that is said here"),
    ],
    "matrix-hadamard": [("claims=[{", 'claims=[{text="line",', "a claim says in words what it claims")],
    "junk-flow": [
        ('{kind="cube",bits=16}', '{kind="xor",d=65536}', "all vectors of log₂ d bits are the matrix xor"),
        ('{kind="noisy-gd",lr=0.1,sigma=0.05}', *NOISY),
        ('"accuracy"', '"error"', "lines and claims are about the error, 1 less the accuracy"),
    ],
    "linear-regions": [
        (
            "axes=",
            'problem={matrix={kind="gaussian",n=2,d=2}}\naxes=',
            "a net does not say how many inputs it has",
        ),
        ("cb=1}", 'cb=1,activation="relu"}', "nets are linear unless they say otherwise"),
    ],
}
"""Replacements by preset: the printed text, the present text, and the reason."""

SMALL = {
    "edge-of-stability": ["axes[0].values=[0.2, 0.3]", "protocol.steps=3/eta", "protocol.records=3"],
    "kernel-to-rich": ["axes[0].to=1e-2", "problem.matrix.n=10", "problem.matrix.d=30"],
    "threshold-sample-size": ["axes[0].to=16", "axes[1].to=512"],
    "criticality": ["learners[0].architecture.depth=4", "learners[0].architecture.width=8"],
    "gmm-spectrum": ["problem.matrix.n=36"],
    "max-margin": ["protocol.steps=40", "protocol.records=8"],
    "matrix-hadamard": ["problem.matrix.factors=[4, 4]", "protocol.steps=5"],
    "junk-flow": ["problem.matrix.d=16", "protocol.steps=2"],
    "linear-regions": ["learners[0].architecture.init=gaussian"],
}
"""Overrides that make the printed presets small."""


def printed():
    """Texts of the printed presets, by name."""
    texts_by_name = {}
    for part in PRINTED.strip().split("# ")[1:]:
        head, _, text = part.partition("\n")
        texts_by_name[head.split()[0].rstrip(":")] = text
    return texts_by_name


def document(name):
    """A preset in the words of the program, at a small size."""
    text = printed()[name]
    for printed_words, words, _ in OTHERWISE.get(name, ()):
        assert printed_words in text
        text = text.replace(printed_words, words)
    raw = tomllib.loads(text) | {"run": {"replicas": 2, "dtype": "float64"}}
    for change in SMALL.get(name, ()):
        apply(raw, change)
    return raw


def views(name):
    """Views of the pictures of a preset after its run."""
    planned = sweep_of(document(name))
    traces = {number: run(point.experiment) for number, point in enumerate(planned.points)}
    results = Results(planned, traces, set(traces))
    return [view(picture, results) for picture in pictures_of(planned.experiment)]


def test_the_specification_prints_ten_examples():
    assert len(printed()) == 10
    assert OTHERWISE.keys() | SMALL.keys() <= printed().keys()


@pytest.mark.parametrize("example", printed())
def test_every_printed_example_gives_its_pictures(example):
    for example_view in views(example):
        assert example_view.curves or example_view.heats
        for curve in example_view.curves:
            assert np.isfinite(curve.y).any(), curve.name
        for heat in example_view.heats:
            assert np.isfinite(heat.z).all()


def test_marks_are_at_the_claimed_largest_gaps():
    (spectrum_view,) = views("gmm-spectrum")
    assert [mark.x for mark in spectrum_view.axes.marks] == [(8.0,), (27.0,)]
    assert [mark.name for mark in spectrum_view.axes.marks] == ["x = 8, K = 2, C = 2", "x = 27, K = 3, C = 3"]


def test_the_gp_view_has_its_examples_and_bands():
    (gp_view,) = views("kernel-gp")
    assert [line.kind for line in gp_view.lines] == ["gp-band", "gp-band"]
    assert len(gp_view.points[0]) == 12


def test_the_degree_axis_has_the_four_degree_names():
    (flow_view,) = views("junk-flow")
    assert tuple(flow_view.axes.names.values()) == ("1", "2", "3", "any")


@pytest.mark.slow
def test_linear_regions_are_a_map_and_criticality_has_a_contour():
    pieces, cells = views("linear-regions")
    assert len(pieces.curves) == 3
    assert cells.heats[0].z.shape == (65, 65)
    (depth,) = views("criticality")
    assert [contour.kind for contour in depth.heats[0].contours] == ["chi-perp"]


@pytest.mark.parametrize("name", OTHERWISE)
def test_printed_text_is_refused_without_its_replacement(name):
    """If the printed text is accepted, its replacement is no longer needed."""
    text = printed()[name]
    for number in range(len(OTHERWISE[name])):
        other_changes = [change for place, change in enumerate(OTHERWISE[name]) if place != number]
        changed = text
        for other, words, _ in other_changes:
            changed = changed.replace(other, words)
        with pytest.raises(BadInput):
            sweep_of(tomllib.loads(changed))
