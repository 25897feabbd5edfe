import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const OLDEST_MAJOR = 18;
const REQUIRED_MAJOR = 24;

const majorOf = (node: string): number =>
  Number(/^v(\d+)\./.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout)?.[1]);

/** A Node on `PATH` that is too old for the service, such as that of the system. */
export const findOlderNode = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter(existsSync)
    .find((node) => majorOf(node) >= OLDEST_MAJOR && majorOf(node) < REQUIRED_MAJOR);
