import type { WordingOf } from './description.ts';

export const audit: WordingOf<'audit'> = {
  list: {
    summary: 'Read the audit trail',
    description:
      'Who changed what, the newest first. `cursor` is the id of the last entry of the page before.',
  },
};

export const mail: WordingOf<'mail'> = {
  list: {
    summary: 'List mails',
    description: 'The newest first. `cursor` is the id of the last mail of the page before.',
  },
  get: { summary: 'One mail, with its words' },
  retry: {
    summary: 'Send a mail now',
    description: 'One that failed or still waits.',
    problems: ['forbidden'],
  },
};
