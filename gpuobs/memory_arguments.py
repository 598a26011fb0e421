"""The options that ``ledger`` and ``explain`` share; light, as every ``--help`` loads them."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what both commands take."""
    source = parser.add_argument_group("source")
    source.add_argument("--stack", metavar="NAME", help="the Grafana that this Pulumi stack made")
    source.add_argument("--prometheus", metavar="URL", help="a Prometheus without credentials")
    source.add_argument("--pyroscope", metavar="URL", help="a Pyroscope, e.g. port-forwarded")
    source.add_argument(
        "--cluster", metavar="NAME", help="value of label cluster (default: the stack's cluster)"
    )
    parser.add_argument(
        "--window",
        metavar="LENGTH",
        default="1h",
        help="how far to look back, e.g. 30m, 2h, 1d (default: 1h)",
    )
    parser.add_argument(
        "--until", metavar="TIME", default="now", help="end of the window (default: now)"
    )
    parser.add_argument("--pod", help="only this pod")
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="lines PART: PATTERN, regular expressions for names of functions, asked first",
    )
    parser.add_argument(
        "--binary", action="store_true", help="write sizes in GiB (2^30) instead of GB (10^9)"
    )
    parser.add_argument("--json", action="store_true", help="write JSON for machines")
