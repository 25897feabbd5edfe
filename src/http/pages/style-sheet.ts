import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { trusted } from './html.ts';

const FILES = ['frame.css', 'parts.css'];

const css = FILES.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('\n');

/**
 * Sent inside every page: it is a few kilobytes, an error page then needs no second answer from a service in trouble, and
 * the policy can name this very text by its hash instead of everything that is served here.
 */
export const styleSheet = trusted(css);

/** As `style-src` of a Content-Security-Policy names it. */
export const styleSource = `'sha256-${createHash('sha256').update(css).digest('base64')}'`;
