/** One result of `steward doctor`. */
export type Finding = {
  /** What was checked: `database`, `mail`, … */
  check: string;
  status: 'ok' | 'warning' | 'failure';
  /** One line. */
  message: string;
  /** What to do about it, in one line; null for `ok`. */
  action: string | null;
};

/** Creates the findings of one check. */
export const findingsOf = (check: string) => ({
  ok: (message: string): Finding => ({ check, status: 'ok', message, action: null }),
  /** The service works, but not as well or as safely as it could. */
  warning: (message: string, action: string): Finding => ({ check, status: 'warning', message, action }),
  /** The service does not start, or part of it does not work. */
  failure: (message: string, action: string): Finding => ({ check, status: 'failure', message, action }),
});
