"""`copyhold permit ...`, also as `kubectl permit ...`: ask for temporary access, review it, end it, and prove what happened.

Every request is sent in the name of whoever runs the command (or of `--as`): what they may do is decided by the server.
"""

import click

from manager.permits.looking import list_, show
from manager.permits.options import EXIT_CODES
from manager.permits.proving import export, verify
from manager.permits.requesting import request
from manager.permits.reviewing import approve, deny, expire, retry


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    help=f"Temporary access: ask for it, review it, end it, and prove what happened.\n\n{EXIT_CODES}",
)
def permit() -> None:
    """The commands about permits."""


for command in (request, list_, show, approve, deny, expire, retry, verify, export):
    permit.add_command(command)


def kubectl() -> None:
    """The program `kubectl-permit`, which kubectl runs as `kubectl permit ...`."""
    permit(prog_name="kubectl permit")
