/**
 * The working directory as PostgreSQL is to name it. It is entered while still root and then reached by this link,
 * so that the account needs no right on the directories above (`/root`).
 */
export const workingDirectory = (dir: string): string =>
  process.platform === 'linux' ? '/proc/self/cwd' : dir;
