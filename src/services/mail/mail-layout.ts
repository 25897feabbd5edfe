import { z } from 'zod';
import { MAX_EMAIL_LENGTH } from '../../lib/email-address.ts';
import { type Html, html, htmlDocument } from '../../lib/html.ts';

/** The content of a mail, for both its text and its HTML part. */
export type MailContent = {
  subject: string;
  /** Paragraphs before the link. Line breaks are preserved. */
  opening: string[];
  /** Between opening and link. */
  list?: { heading: string; items: string[] } | undefined;
  /** Label of the link, if the mail has one. */
  action?: string;
  /** Null if the reader may not see it. */
  link: string | null;
  closing: string[];
};

const NO_LINK = '(link not shown)';

export const renderText = ({ opening, list, action, link, closing }: MailContent): string =>
  [
    ...opening,
    ...(list ? [[list.heading, ...list.items.map((item) => `- ${item}`)].join('\n')] : []),
    ...(action === undefined ? [] : [`${action}:\n${link ?? NO_LINK}`]),
    ...closing,
  ]
    .join('\n\n')
    .concat('\n');

const BODY =
  'margin:0;padding:24px;font:16px/1.5 Inter,system-ui,-apple-system,Segoe UI,Roboto,Arial,sans-serif';
const COLUMN = 'max-width:560px;margin:0 auto';
/** Fixed colors, readable in light and dark mode. */
const BUTTON =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#1c5c4a;color:#ffffff;text-decoration:none;font-weight:600';

/**
 * Styles are inline because mail programs drop style sheets. Page and text have no color, so the reader's light or dark
 * mode applies.
 */
export const renderHtml = (letter: MailContent): string => {
  const { subject, opening, list, action, link, closing } = letter;
  return htmlDocument({
    title: subject,
    head: html`<meta name="supported-color-schemes" content="light dark">`,
    bodyAttributes: html` style="${BODY}"`,
    body: html`<div role="article" style="${COLUMN}">
${opening.map(paragraph)}
${list && bulletList(list)}
${action !== undefined && (link === null ? paragraph(`${action}: ${NO_LINK}`) : linkButton(action, link))}
${closing.map(paragraph)}
</div>`,
  }).toString();
};

const paragraph = (text: string): Html => html`<p style="margin:0 0 16px">${withBreaks(text)}</p>
`;

const withBreaks = (text: string): Html[] =>
  text.split('\n').map((line, index) => (index === 0 ? html`${line}` : html`<br>${line}`));

const bulletList = ({ heading, items }: NonNullable<MailContent['list']>): Html => html`${paragraph(heading)}
<ul style="margin:0 0 16px;padding-left:24px">${items.map((item) => html`<li>${item}</li>`)}</ul>`;

/** Also shows the full URL, for programs without links, and for people who check a link before they follow it. */
const linkButton = (action: string, link: string): Html => html`
<p style="margin:24px 0"><a href="${link}" style="${BUTTON}">${action}</a></p>
<p style="margin:0 0 16px;font-size:14px;word-break:break-all">Or open this link: <a href="${link}">${link}</a></p>`;

const MAX_LINE_LENGTH = 255;

/** Control characters, line breaks and bidirectional controls. */
const LINE_FORBIDDEN = /[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;
const TEXT_FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Turns user input into one line for a header or a heading. The line contains no encoded word (RFC 2047 §2), which mail
 * programs would decode.
 */
export const oneLine = (text: string): string => {
  const line = text.toWellFormed().replace(LINE_FORBIDDEN, ' ').replaceAll('=?', '= ?').trim();
  return Array.from(line).slice(0, MAX_LINE_LENGTH).join('').trim();
};

/** Removes all control characters except line breaks and tabs. */
export const plainText = (text: string): string =>
  text.toWellFormed().replace(/\r\n?/g, '\n').replace(TEXT_FORBIDDEN, '').trim();

/**
 * Accepts the form that HTML defines for email fields. It has no spaces, commas, quotes, brackets or line breaks, so it
 * cannot inject recipients or headers.
 */
export const isMailAddress = (text: string): boolean =>
  text.length <= MAX_EMAIL_LENGTH && z.regexes.html5Email.test(text);

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

/** `5 December 2026, 13:00 (UTC)` */
export const momentOf = (at: Date | string): string =>
  `${DAY.format(new Date(at))}, ${TIME.format(new Date(at))} (UTC)`;
