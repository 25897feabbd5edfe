import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Loaded by `--import`: `@steward/client` is then that of this checkout, which need not have been built. */
export const CLIENT_SOURCE = join(import.meta.dirname, '../../src/client.ts');

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === '@steward/client' ? pathToFileURL(CLIENT_SOURCE).href : specifier, context),
});
