const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escaped markup. Only `html` creates it. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type { Html };

/** Template tag that escapes every value except markup. Quote attribute values with double quotes. */
export const html = (strings: TemplateStringsArray, ...values: (string | Html | Html[])[]): Html =>
  new Html(strings.map((string, index) => string + markupOf(values[index] ?? '')).join(''));

const markupOf = (value: string | Html | Html[]): string => {
  if (Array.isArray(value)) return value.map((part) => part.text).join('');
  return value instanceof Html ? value.text : value.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
};
