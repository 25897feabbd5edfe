import type { IOptions } from 'sanitize-html';
import { type Html, html, trusted } from './html.ts';

/** Messages that are remembered with their HTML. To sanitize a long one takes 0.3 s, and anyone may ask for a missing page. */
const MAX_REMEMBERED = 20;

const BLOCKS = ['p', 'div', 'h2', 'h3', 'h4', 'ul', 'ol', 'li', 'blockquote', 'pre', 'hr', 'br'];
const INLINE = ['a', 'b', 'strong', 'i', 'em', 'u', 's', 'small', 'code', 'span'];

const OPTIONS: IOptions = {
  allowedTags: [...BLOCKS, ...INLINE],
  allowedAttributes: { a: ['href', 'rel'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  // Elements nested deeper are left out.
  nestingLimit: 20,
  transformTags: {
    // The page has a heading of its own.
    h1: 'h2',
    a: (tagName, { href }) => ({
      tagName,
      attribs: { ...(href !== undefined && { href }), rel: 'noopener noreferrer' },
    }),
  },
};

const remembered = new Map<string, Html | null>();

/**
 * A message that a client admin has written, with harmless markup and links kept. Null for one that says nothing. The message
 * is sanitized whenever it is shown and stored as it was sent, so that stricter rules hold for old messages too.
 */
export const messageHtml = async (message: string): Promise<Html | null> => {
  const known = remembered.get(message);
  if (known !== undefined) return known;
  const made = await render(message);
  const [oldest] = remembered.size >= MAX_REMEMBERED ? remembered.keys() : [];
  if (oldest !== undefined) remembered.delete(oldest);
  remembered.set(message, made);
  return made;
};

const render = async (message: string): Promise<Html | null> => {
  if (message.trim() === '') return null;
  if (!/[<&]/.test(message)) return html`<p class="words">${message.trim()}</p>`;
  // Loaded when it is first needed: it takes 80 ms and 18 MB, and most messages are plain text.
  const { default: sanitize } = await import('sanitize-html');
  const safe = sanitize(message, OPTIONS);
  if (safe.replaceAll(/<[^<>]*>|&nbsp;/g, '').trim() === '') return null;
  return /<[a-z]/.test(safe)
    ? html`<div class="message">${trusted(safe)}</div>`
    : html`<p class="words">${trusted(safe)}</p>`;
};
