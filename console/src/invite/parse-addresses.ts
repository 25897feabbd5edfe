/** A person as a pasted text names them. */
export type Addressee = { email: string; firstName: string; lastName: string };

/** `"Lovelace, Ada" <ada@acme.test>`, `Ada Lovelace <ada@acme.test>`, or a word. */
const ENTRY = /(?:"([^"\n]*)" ?|([^<>,;\n"@]*))<([^<>\n]*)>|[^\s,;<>"]+/g;

/** Finds the people in pasted text: one for each line or between commas, semicolons and spaces, with their names if it has them. */
export const parsePeople = (text: string): Addressee[] =>
  [...text.replaceAll(/[^\S\n]+/g, ' ').matchAll(ENTRY)].flatMap(([word, quoted, plain, address]) => {
    const email = (address ?? word).trim();
    return email === '' ? [] : { email, ...splitName((quoted ?? plain ?? '').trim()) };
  });

/** As `parsePeople`, without the names. */
export const parseAddresses = (text: string): string[] => parsePeople(text).map(({ email }) => email);

/** The last word is the last name, or the words before a comma are. */
export const splitName = (name: string): Omit<Addressee, 'email'> => {
  const [last = '', first] = name.split(',', 2).map((part) => part.trim());
  if (first !== undefined) return { firstName: first, lastName: last };
  const words = last.split(/\s+/);
  return words.length === 1
    ? { firstName: last, lastName: '' }
    : { firstName: words.slice(0, -1).join(' '), lastName: words.at(-1) ?? '' };
};
