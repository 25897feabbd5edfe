/** A hash that was understood, with what it takes to try a password against it. */
export type PasswordCheck = {
  /** Checks of one family do the same kind of work, and differ only in how much of it. */
  family: string;
  /** How much: iterations, or 2^cost. 1 in a family whose members all cost the same. */
  units: number;
  /** Roughly, on one core of 2026: enough to tell cheap hashes from costly ones. */
  costMs: number;
  verify(password: string): Promise<boolean>;
};

/** A hash that is understood, and that would cost one login too much. */
export type TooCostly = { tooCostly: string };

/** null: not a hash of this format. */
export type ReadHash = PasswordCheck | TooCostly | null;

export const isCheck = (read: ReadHash): read is PasswordCheck => read !== null && 'verify' in read;
