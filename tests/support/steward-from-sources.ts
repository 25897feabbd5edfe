import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Loaded with `--import`: resolves `@steward/client` to the source of this checkout, without a build. */
export const CLIENT_SOURCE = join(import.meta.dirname, '../../src/client.ts');

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === '@steward/client' ? pathToFileURL(CLIENT_SOURCE).href : specifier, context),
});
