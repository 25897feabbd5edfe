import { type Config, readConfig } from '../config/config.ts';

type Lines = string | readonly string[];

/**
 * Runs a command on the service's data, and prints the lines that it returns. Loads the module of the command last, so that help and
 * messages about invalid settings do not wait for it.
 */
export const runWork = async <Module>(
  load: () => Promise<Module>,
  work: (module: Module, config: Config) => Promise<Lines>,
  options?: { needsKey: boolean },
): Promise<void> => {
  const config = readConfig(process.env, options);
  printLines(await work(await load(), config));
};

export const printLines = (lines: Lines): void => {
  process.stdout.write(
    [lines]
      .flat()
      .map((line) => `${line}\n`)
      .join(''),
  );
};

export const toJson = (value: unknown): string => JSON.stringify(value, null, 2);
