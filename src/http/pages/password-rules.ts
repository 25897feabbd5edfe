import type { Rule } from './fields.ts';
import type { Visit } from './page-context.ts';

/** Hardly anybody ever meets these: they are told to those who do, and to nobody else. */
const RARE = ['max_length', 'characters'];

export const rulesToShow = (rules: readonly Rule[]): Rule[] =>
  rules.filter(({ rule }) => !RARE.includes(rule));

/** What a new password has to meet: that of whoever is logged in, else that of the client's people. */
export const rulesFor = async (visit: Visit, email: string): Promise<Rule[]> =>
  rulesToShow((await visit.reader.passwords.check({ password: '', email })).rules);
