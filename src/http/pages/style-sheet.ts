import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { trusted } from './html.ts';

/**
 * Sent inside every page: it is a few kilobytes, an error page then needs no second answer from a service in trouble, and
 * the policy can name this very text by its hash instead of everything that is served here. `source` is that hash, as
 * `style-src` of a Content-Security-Policy names it.
 */
export const makeStyle = (...files: URL[]) => {
  const css = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return {
    sheet: trusted(css),
    source: `'sha256-${createHash('sha256').update(css).digest('base64')}'`,
  };
};

export const { sheet: styleSheet, source: styleSource } = makeStyle(
  new URL('frame.css', import.meta.url),
  new URL('parts.css', import.meta.url),
);
