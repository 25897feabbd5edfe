import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Loaded with `--import`: when the process ends, writes the names of all loaded packages to a file, as JSON. */
export const LOADED_VARIABLE = 'STEWARD_TEST_LOADED';

const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const loaded = new Set<string>();

registerHooks({
  load: (url, context, next) => {
    const name = PACKAGE.exec(url)?.[1];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});

const file = process.env[LOADED_VARIABLE];
process.on('exit', () => {
  if (file) writeFileSync(file, JSON.stringify([...loaded]));
});
