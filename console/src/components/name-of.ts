type Named = { first_name: string; last_name: string; email: string };

/** The name, or the address of a person without one. */
export const nameOf = ({ first_name, last_name, email }: Named): string =>
  `${first_name} ${last_name}`.trim() || email;
