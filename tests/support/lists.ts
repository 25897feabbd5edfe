/** One field of each item. */
export const fieldOf = <T, Field extends keyof T>(items: readonly T[], field: Field): T[Field][] =>
  items.map((item) => item[field]);

/** Some fields of each item. */
export const fieldsOf = <T, Field extends keyof T>(items: readonly T[], ...fields: Field[]): T[Field][][] =>
  items.map((item) => fields.map((field) => item[field]));
