import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import * as assert from 'uvu/assert';
import { createProgram } from '../../src/cli/program.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

const run = promisify(execFile);

/** What `steward PATH --help` shows under these titles. */
const shownBy = (command: Command): string[] => {
  const help = command.helpInformation();
  const [, options = ''] = /^Options:\n((?: {2}.*\n)*)/m.exec(help) ?? [];
  const [, commands = ''] = /^Commands:\n((?: {2}.*\n)*)/m.exec(help) ?? [];
  const names = [...commands.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name);
  const flags = [...options.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, name = '']) => name);
  return [...names, ...flags].sort();
};

type Shown = { path: string; names: string[] };

const all = (command: Command, parents: string[] = []): Shown[] => {
  const path = [...parents, command.name()];
  const below = command.commands.flatMap((each) => all(each, path));
  return [{ path: path.join(' '), names: shownBy(command) }, ...below];
};

const SHELLS = ['zsh', 'shell', 'bash', 'fish'];
const program = all(createProgram());
const completion = suite<{ folder: Awaited<ReturnType<typeof makeScratchFolder>> }>('steward completion');

completion.before(async (context) => {
  context.folder = await makeScratchFolder();
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await runCommand(['completion', shell]);
    assert.equal([code, stderr], [0, '']);
    await writeFile(context.folder.join(shell), stdout);
  }
});
completion.after(({ folder }) => folder[Symbol.asyncDispose]());

/** The expected lines: a path, then its candidates. Arguments with choices have no place in the help. */
const EXPECTED = program.map(({ path, names }) => `${path}: ${names.join(' ')}`);
const linesOf = (stdout: string): string[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [path = '', names = ''] = line.split(': ');
      const sorted = names
        .split(' ')
        .filter((name) => name !== '' && !SHELLS.includes(name))
        .sort();
      return `${path}: ${sorted.join(' ')}`;
    });

completion('completes in bash what the help of each command shows', async ({ folder }) => {
  const script = `source ${folder.join('bash')}
complete -p steward >/dev/null || exit 1
while read -r line; do
  read -r -a COMP_WORDS <<<"$line"
  COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _steward
  echo "$line: \${COMPREPLY[*]}"
done <<<'${program.map(({ path }) => path).join('\n')}'`;

  const { stdout } = await run('bash', ['--norc', '-c', script]);

  assert.ok(program.length > 12);
  assert.equal(linesOf(stdout), EXPECTED);
});

completion('completes words in bash, after options and arguments', async ({ folder }) => {
  const complete = async (...words: string[]): Promise<string> => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const script = `source ${folder.join('bash')}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _steward; echo "\${COMPREPLY[*]}"`;
    return (await run('bash', ['--norc', '-c', script])).stdout.trim();
  };

  assert.is(await complete('steward', 'doc'), 'doctor');
  assert.is(await complete('steward', 'apps', 'pu'), 'publish');
  assert.is(await complete('steward', 'apps', 'list', 'sales', '--j'), '--json');
  assert.is(await complete('steward', 'completion', 'f'), 'fish');
  assert.is(await complete('steward', 'apps', 'pack', './nothing'), '');
});

completion('completes in fish what the help of each command shows', async ({ folder }) => {
  const script = `source ${folder.join('fish')}
for line in ${program.map(({ path }) => `'${path}'`).join(' ')}
  set -l names (complete -C "$line " | string split -f1 \\t) (complete -C "$line --" | string split -f1 \\t)
  echo "$line: $names"
end`;
  // Without files, which fish completes too.
  const cwd = folder.join('empty');
  await mkdir(cwd);

  const { stdout } = await run('fish', ['--no-config', '-c', script], { cwd });

  assert.equal(linesOf(stdout), EXPECTED);
});

completion('passes in zsh to _describe what the help of each command shows', async ({ folder }) => {
  const script = `compdef() { :; }
_describe() { print -r -- "$line: \${(@)\${(P)2}%%:*}"; }
source ${folder.join('zsh')}
while read -r line; do
  words=(\${=line} '')
  CURRENT=$#words
  _steward
done <<<'${program.map(({ path }) => path).join('\n')}'`;

  const { stdout } = await run('zsh', ['-f', '-c', script]);

  assert.equal(linesOf(stdout), EXPECTED);
});

completion('every command that lists has --json', () => {
  const lists = program.filter(({ path }) => /\b(list|doctor)$/.test(path));

  assert.ok(lists.length > 1);
  assert.equal(
    lists.filter(({ names }) => !names.includes('--json')),
    [],
  );
});

completion.run();
