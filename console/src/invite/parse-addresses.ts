/** A person in pasted text. */
export type Addressee = { email: string; firstName: string; lastName: string };

/** `"Lovelace, Ada" <ada@acme.test>`, `Ada Lovelace <ada@acme.test>`, or a word. */
const ENTRY = /(?:"([^"\n]*)" ?|([^<>,;\n"@]*))<([^<>\n]*)>|[^\s,;<>"]+/g;

/** Finds the people in pasted text: one per line, or separated by commas, semicolons and spaces, with their names if given. */
export const parsePeople = (text: string): Addressee[] =>
  [...text.replaceAll(/[^\S\n]+/g, ' ').matchAll(ENTRY)].flatMap(([word, quoted, plain, address]) => {
    const email = (address ?? word).trim();
    return email === '' ? [] : { email, ...splitName((quoted ?? plain ?? '').trim()) };
  });

/** Like `parsePeople`, without the names. */
export const parseAddresses = (text: string): string[] => parsePeople(text).map(({ email }) => email);

/** The last word is the last name; if there is a comma, the words before it. */
export const splitName = (name: string): Omit<Addressee, 'email'> => {
  const [last = '', first] = name.split(',', 2).map((part) => part.trim());
  if (first !== undefined) return { firstName: first, lastName: last };
  const words = last.split(/\s+/);
  return words.length === 1
    ? { firstName: last, lastName: '' }
    : { firstName: words.slice(0, -1).join(' '), lastName: words.at(-1) ?? '' };
};
