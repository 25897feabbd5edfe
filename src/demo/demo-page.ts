import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { type Html, html, htmlDocument, trusted } from '../lib/html.ts';

const CSS = readFileSync(new URL('demo-app.css', import.meta.url), 'utf8');
const STYLE_HASH = createHash('sha256').update(CSS).digest('base64');

/** Sends a page of an app of the demo. */
export const sendDemoPage = (
  reply: FastifyReply,
  { title, body }: { title: string; body: Html },
): FastifyReply =>
  reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header(
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    )
    .send(htmlDocument({ title, head: html`<style>${trusted(CSS)}</style>`, body }).toString());
