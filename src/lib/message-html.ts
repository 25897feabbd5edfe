import type { IOptions } from 'sanitize-html';
import { type Html, html, trusted } from './html.ts';

/** Sanitizing a long message takes 0.3 s, and anyone may request a missing page, so results are cached. */
const MAX_CACHED_MESSAGES = 20;

const BLOCKS = ['p', 'div', 'h2', 'h3', 'h4', 'ul', 'ol', 'li', 'blockquote', 'pre', 'hr', 'br'];
const INLINE = ['a', 'b', 'strong', 'i', 'em', 'u', 's', 'small', 'code', 'span'];

const OPTIONS: IOptions = {
  allowedTags: [...BLOCKS, ...INLINE],
  allowedAttributes: { a: ['href', 'rel'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  // Drops elements that are nested deeper.
  nestingLimit: 20,
  transformTags: {
    // The page already has an h1.
    h1: 'h2',
    a: (tagName, { href }) => ({
      tagName,
      attribs: { ...(href !== undefined && { href }), rel: 'noopener noreferrer' },
    }),
  },
};

/** Maps each message to its HTML. The oldest entry is evicted first. */
const cache = new Map<string, Html | null>();

/**
 * Sanitizes a message that a client admin wrote; keeps harmless markup and links. Returns null if nothing visible remains.
 * Messages are stored as written and sanitized when shown, so stricter rules also apply to old messages.
 */
export const messageHtml = async (message: string): Promise<Html | null> => {
  const cached = cache.get(message);
  if (cached !== undefined) return cached;
  const rendered = await renderMessage(message);
  const [oldest] = cache.size >= MAX_CACHED_MESSAGES ? cache.keys() : [];
  if (oldest !== undefined) cache.delete(oldest);
  cache.set(message, rendered);
  return rendered;
};

const renderMessage = async (message: string): Promise<Html | null> => {
  if (message.trim() === '') return null;
  if (!/[<&]/.test(message)) return html`<p class="plain-text">${message.trim()}</p>`;
  // Imported on demand: it takes 80 ms and 18 MB, and most messages are plain text.
  const { default: sanitize } = await import('sanitize-html');
  const safe = sanitize(message, OPTIONS);
  if (safe.replaceAll(/<[^<>]*>|&nbsp;/g, '').trim() === '') return null;
  return /<[a-z]/.test(safe)
    ? html`<div class="message">${trusted(safe)}</div>`
    : html`<p class="plain-text">${trusted(safe)}</p>`;
};

type Notice = { title: string; body: Html };

/** The page that people see instead of an app in maintenance. */
export const maintenanceNotice = async (label: string, message: string): Promise<Notice> => ({
  title: `${label} is in maintenance`,
  body: (await messageHtml(message)) ?? html`<p>Please try again later.</p>`,
});
