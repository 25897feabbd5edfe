const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };
const PARAGRAPHS = /^(?:<p>[^<]*(?:<br>[^<]*)*<\/p>\s*)+$/;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Plain text as HTML: a paragraph for each block of lines. */
export const messageOfText = (text: string): string =>
  text
    .trim()
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => `<p>${escaped(paragraph.trim()).replaceAll('\n', '<br>')}</p>`)
    .join('\n');

/** The plain text of a message, or null if its HTML says more than paragraphs. */
export const textOfMessage = (html: string): string | null => {
  if (!/[<&]/.test(html)) return html;
  if (!PARAGRAPHS.test(html)) return null;
  const text = html
    .trim()
    .split(/<\/p>\s*<p>/)
    .map((paragraph) => paragraph.replaceAll(/<\/?p>/g, '').replaceAll('<br>', '\n'))
    .join('\n\n')
    .replaceAll(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity);
  // What would not be sent again as it is, such as other entities, is edited as HTML.
  return messageOfText(text) === html.trim().replaceAll(/<\/p>\s*<p>/g, '</p>\n<p>') ? text : null;
};
