/**
 * Finds the addresses in pasted text: one for each line or between commas, semicolons and spaces, also as
 * `Ada Lovelace <ada@acme.test>`. Names in quotes may contain commas.
 */
export const parseAddresses = (text: string): string[] =>
  text
    .replaceAll(/"[^"\n]*"/g, '')
    .split(/[,;\n]/)
    .flatMap((part) => {
      const named = /<([^<>]*)>/.exec(part)?.[1];
      return named === undefined ? part.split(/\s+/) : [named.trim()];
    })
    .filter((address) => address !== '');
