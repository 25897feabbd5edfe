const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is markup already. Only `html` makes it. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type { Html };

/** Markup in which every value is escaped, unless it is markup itself. Values in tags stand in double quotes. */
export const html = (strings: TemplateStringsArray, ...values: (string | Html | Html[])[]): Html =>
  new Html(strings.map((string, index) => string + markupOf(values[index] ?? '')).join(''));

const markupOf = (value: string | Html | Html[]): string => {
  if (Array.isArray(value)) return value.map((part) => part.text).join('');
  return value instanceof Html ? value.text : value.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
};
