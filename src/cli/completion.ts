import { Argument, type Command } from 'commander';

const HELP = `
Add to the start-up file of the shell:
  bash   source <(steward completion bash)
  zsh    source <(steward completion zsh)      after compinit
  fish   steward completion fish | source`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const addCompletionCommand = (program: Command): void => {
  program
    .command('completion')
    .description('Print a script that completes commands and options')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: (typeof SHELLS)[number]) => {
      process.stdout.write(WRITERS[shell](listCommands(program)));
    });
};

type Candidate = { name: string; description: string; isOption: boolean };

/** `path` is what was typed so far: `steward apps list`. Arguments that are files are completed by the shell. */
type Completion = { path: string; candidates: Candidate[] };

const listCommands = (command: Command, parents: readonly string[] = []): Completion[] => {
  const help = command.createHelp();
  const names = [...parents, command.name()];
  const commands = help
    .visibleCommands(command)
    .map((each) => ({ name: each.name(), description: each.description(), isOption: false }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => ({ name, description, isOption: false })),
  );
  const options = help
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ name: long ?? short ?? '', description, isOption: true }));
  const own = { path: names.join(' '), candidates: [...commands, ...choices, ...options] };
  return [own, ...command.commands.flatMap((each) => listCommands(each, names))];
};

const subpathsOf = (all: readonly Completion[]): string[] => all.slice(1).map(({ path }) => path);

/** Within single quotes; bash and zsh have no escape there. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Follows the words before the cursor to the command that they name. The variable is not `path`, which zsh ties to PATH. */
const findCommand = (all: readonly Completion[], words: string): string => `  local command=steward word
  for word in ${words}; do
    case "$command $word" in
      ${subpathsOf(all).map(quote).join(' | ')}) command="$command $word" ;;
    esac
  done`;

const writeBash = (all: readonly Completion[]): string => `# bash completion for steward
_steward() {
${findCommand(all, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  local candidates=
  case $command in
${all.map(({ path, candidates }) => `    ${quote(path)}) candidates=${quote(candidates.map(({ name }) => name).join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _steward steward
`;

const writeZsh = (all: readonly Completion[]): string => `#compdef steward
_steward() {
${findCommand(all, `"\${(@)words[2,CURRENT-1]}"`)}
  local -a candidates
  case $command in
${all.map(({ path, candidates }) => `    ${quote(path)}) candidates=(${zshCandidates(candidates)}) ;;`).join('\n')}
  esac
  _describe steward candidates || _files
}
compdef _steward steward
`;

const zshCandidates = (candidates: readonly Candidate[]): string =>
  candidates.map(({ name, description }) => quote(`${name.replaceAll(':', '\\:')}:${description}`)).join(' ');

const writeFish = (all: readonly Completion[]): string => `# fish completion for steward
function __steward_command
  set -l command steward
  for word in (commandline -opc)[2..]
    if contains -- "$command $word" ${subpathsOf(all).map(quote).join(' ')}
      set command "$command $word"
    end
  end
  test "$command" = "$argv"
end
${all.flatMap(fishLines).join('\n')}
`;

const fishLines = ({ path, candidates }: Completion): string[] => {
  const start = `complete -c steward -n ${fishQuote(`__steward_command ${path}`)}`;
  return candidates.map(
    ({ name, description, isOption }) =>
      `${start} ${isOption ? '-l' : '-f -a'} ${fishQuote(name.replace(/^--/, ''))} -d ${fishQuote(description)}`,
  );
};

const fishQuote = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;

const WRITERS = { bash: writeBash, zsh: writeZsh, fish: writeFish };
