import { type Html, html } from '../../lib/html.ts';
import type { FieldErrors, Problem, ProblemCode } from '../../lib/problems.ts';

type Field = {
  name: string;
  label: string;
  /** The value that browsers and password managers fill in (WCAG 2.1, 1.3.5). */
  autocomplete: string;
  type?: 'text' | 'email' | 'password';
  inputMode?: 'numeric';
  value?: string;
  errors?: readonly string[] | undefined;
  /** Shown between label and input. Its element needs the id `{name}-hint`. */
  hint?: Html | false;
  isRequired?: boolean;
  isFocused?: boolean;
};

/** A labelled input. `aria-describedby` links it to its hint and errors, so that screen readers announce them. */
export const inputField = (field: Field): Html => {
  const { name, type = 'text', errors = [], hint = false } = field;
  const hasErrors = errors.length > 0;
  const describedBy = [hint && `${name}-hint`, hasErrors && `${name}-error`].filter(Boolean).join(' ');
  return html`<div class="field">
<label for="${name}">${field.label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${field.autocomplete}"
${field.inputMode && html`inputmode="${field.inputMode}"`}
${type !== 'password' && html`value="${field.value}"`}
${type !== 'text' && html`autocapitalize="none" spellcheck="false"`}
${describedBy !== '' && html`aria-describedby="${describedBy}"`}
${hasErrors && html`aria-invalid="true"`}
${(field.isRequired ?? true) && html`required`}
${field.isFocused && html`autofocus`}>
${hint}
${hasErrors && html`<p class="error" id="${name}-error">${errors.join(' ')}</p>`}
</div>`;
};

type NamedField = Pick<Field, 'errors' | 'isFocused'>;

export const emailField = (
  field: NamedField & { name: string; value: string; hasPasskeys?: boolean },
): Html => {
  // Browsers then offer passkeys among the addresses that they fill in.
  const autocomplete = field.hasPasskeys === true ? 'username webauthn' : 'username';
  return inputField({ ...field, label: 'Email address', type: 'email', autocomplete });
};

export const currentPasswordField = (field: NamedField & { label: string }): Html =>
  inputField({ ...field, name: 'password', type: 'password', autocomplete: 'current-password' });

type PasswordRule = { rule: string; message: string };

/** Rules that passwords rarely break: shown only as an error. */
const UNLISTED_RULES = ['max_length', 'characters'];

/** An input for a new password, above the rules for it. The list marks the rules that the last attempt broke. */
export const newPasswordField = ({
  rules,
  errors = [],
  ...field
}: NamedField & { name: string; label: string; rules: readonly PasswordRule[] }): Html => {
  const messages = rules.filter(({ rule }) => !UNLISTED_RULES.includes(rule)).map(({ message }) => message);
  const unlistedErrors = errors.filter((error) => !messages.includes(error));
  const hasMarkedRules = unlistedErrors.length < errors.length;
  return inputField({
    ...field,
    type: 'password',
    autocomplete: 'new-password',
    errors: [
      ...(hasMarkedRules ? ['Choose a password that meets all requirements.'] : []),
      ...unlistedErrors,
    ],
    hint: messages.length > 0 && rulesList(`${field.name}-hint`, messages, errors),
  });
};

/** The inputs of a form that changes a known password: the first with an error is focused. */
export const passwordChangeFields = (
  errors: FieldErrors | undefined,
  rules: readonly PasswordRule[],
): Html[] => [
  currentPasswordField({
    label: 'Current password',
    errors: errors?.password,
    isFocused: errors?.password !== undefined || errors?.new_password === undefined,
  }),
  newPasswordField({
    name: 'new_password',
    label: 'New password',
    rules,
    errors: errors?.new_password,
    isFocused: errors?.password === undefined && errors?.new_password !== undefined,
  }),
];

const rulesList = (id: string, messages: readonly string[], errors: readonly string[]): Html => html`
<ul class="rules" id="${id}">
${messages.map((message) =>
  errors.includes(message)
    ? html`<li class="broken">${message} <span class="visually-hidden">Not met.</span></li>\n`
    : html`<li>${message}</li>\n`,
)}
</ul>`;

/** For password managers: whose password it is, in forms that do not ask for the email address. */
export const hiddenUsername = (email: string): Html =>
  html`<input type="text" name="username" value="${email}" autocomplete="username" readonly hidden>`;

/** The error above a form. Screen readers announce it at once. */
export const alertBox = (problem: Problem | null): Html | false =>
  problem !== null && html`<div class="alert" role="alert"><p>${userMessage(problem)}</p></div>`;

export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** The message of a problem for people in a browser; the default messages address developers. */
export const userMessage = ({ code, message, retryAfterSeconds }: Problem): string => {
  if (code === 'throttled') return `Too many attempts. Try again in ${formatWait(retryAfterSeconds)}.`;
  return MESSAGES[code] ?? message;
};

const MESSAGES: Partial<Record<ProblemCode, string>> = {
  'csrf-failed': 'This form has expired. Please try again.',
  'invalid-credentials': 'Incorrect email address or password.',
  'invalid-input': 'Please correct the errors below.',
  'invalid-otp': 'This code is wrong, has expired or was already used. Enter the next one.',
};

/** Formats a waiting time, rounded up so that the user does not come back too early. */
export const formatWait = (seconds = 60): string => {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return 'a minute';
  if (minutes < 60) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours === 1 ? 'an hour' : `${hours} hours`;
};
