"""`pubsub-emulator completion SHELL`: a script for the shell, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

SHELLS = ("bash", "zsh", "fish")
_NAME = "pubsub-emulator"

_BASH = """\
_pubsub_emulator() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -F _pubsub_emulator {name}
"""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the lines for a shell to read."""
    commands = _commands(parser)
    if shell == "fish":
        return _fish(commands)
    cases = "\n".join(
        f'            {name}) words="{" ".join(words)}" ;;' for name, words in commands.items()
    )
    text = _BASH.format(commands=" ".join(commands), cases=cases, name=_NAME)
    return f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text


def _fish(commands: Mapping[str, list[str]]) -> str:
    lines = [f"complete -c {_NAME} -n __fish_use_subcommand -f -a '{' '.join(commands)}'"]
    for name, words in commands.items():
        seen = f"complete -c {_NAME} -n '__fish_seen_subcommand_from {name}'"
        for word in words:
            if word.startswith("--"):
                lines.append(f"{seen} -l {word[2:]}")
            elif word.startswith("-"):
                lines.append(f"{seen} -s {word[1:]}")
            else:
                lines.append(f"{seen} -a {word}")
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Each command with what may follow: its options, or its own commands with theirs."""
    return {name: _words(command) for name, command in _subcommands(parser).items()}


def _words(parser: argparse.ArgumentParser) -> list[str]:
    words = [option for action in parser._actions for option in action.option_strings]
    for name, command in _subcommands(parser).items():
        words += [name, *_words(command)]
    return list(dict.fromkeys(words))


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
