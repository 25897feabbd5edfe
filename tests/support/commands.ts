import { type Command, CommanderError } from 'commander';
import { reportFailure } from '../../src/cli/failures.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { Outcome, Settings } from './service-process.ts';

const withAllBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(withAllBelow)];

const parse = async (args: readonly string[]): Promise<number> => {
  const program = createProgram();
  for (const command of withAllBelow(program)) command.exitOverride();
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    reportFailure(error);
  }
  return Number(process.exitCode ?? 0);
};

/** Keeps what is written to a stream until the end, instead of writing it. */
const capture = (stream: NodeJS.WriteStream) => {
  let text = '';
  const before = Object.getOwnPropertyDescriptor(stream, 'write');
  stream.write = (chunk: unknown): boolean => {
    text += String(chunk);
    return true;
  };
  return {
    text: (): string => text,
    end: (): void => {
      Reflect.deleteProperty(stream, 'write');
      if (before) Object.defineProperty(stream, 'write', before);
    },
  };
};

/** Runs `steward ARGS…` in this process, which takes milliseconds. For commands that end by themselves. */
export const runInProcess = async (
  args: readonly string[],
  settings: Settings = {},
  cwd = process.cwd(),
): Promise<Outcome> => {
  const { env, exitCode } = process;
  const folder = process.cwd();
  const [out, error] = [capture(process.stdout), capture(process.stderr)];
  process.env = { PATH: env.PATH, HOME: env.HOME, TMPDIR: env.TMPDIR, ...settings };
  process.chdir(cwd);
  try {
    const code = await parse(args);
    return { stdout: out.text(), stderr: error.text(), code, signal: null };
  } finally {
    out.end();
    error.end();
    Object.assign(process, { env, exitCode });
    process.chdir(folder);
  }
};
