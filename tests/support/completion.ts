import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';

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

/** Arguments with choices have no place in the help. */
const SHELLS = ['zsh', 'shell', 'bash', 'fish'];
export const program = all(createProgram());
/** The expected lines: a path, then its candidates. */
export const EXPECTED = program.map(({ path, names }) => `${path}: ${names.join(' ')}`);
export const linesOf = (stdout: string): string[] =>
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
