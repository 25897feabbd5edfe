import type { FieldErrors } from '../../lib/problems.ts';
import { type Html, html } from './html.ts';

type Field = {
  name: string;
  label: string;
  /** What browsers and password managers fill in: WCAG 2.1, 1.3.5. */
  autocomplete: string;
  type?: 'text' | 'email' | 'password';
  value?: string;
  errors?: readonly string[] | undefined;
  /** What is said between label and input, by the id `{name}-hint`. */
  hint?: Html | false;
  isRequired?: boolean;
  isFocused?: boolean;
};

/** A labelled input. Its hint and its errors are tied to it, so that they are read out together. */
export const inputField = (field: Field): Html => {
  const { name, type = 'text', errors = [], hint = false } = field;
  const described = [hint && `${name}-hint`, errors.length > 0 && `${name}-error`].filter(Boolean).join(' ');
  return html`<div class="field">
<label for="${name}">${field.label}</label>
${hint}
<input id="${name}" name="${name}" type="${type}" autocomplete="${field.autocomplete}"
${type !== 'password' && html`value="${field.value}"`}
${type !== 'text' && html`autocapitalize="none" spellcheck="false"`}
${described !== '' && html`aria-describedby="${described}"`}
${errors.length > 0 && html`aria-invalid="true"`}
${(field.isRequired ?? true) && html`required`}
${field.isFocused && html`autofocus`}>
${errors.length > 0 && html`<p class="error" id="${name}-error">${errors.join(' ')}</p>`}
</div>`;
};

export type Rule = { rule: string; message: string };

/** An input for a new password under its rules. Those that the last try broke are marked, and not told twice. */
export const newPasswordField = ({
  rules,
  errors = [],
  ...field
}: Pick<Field, 'name' | 'label' | 'errors' | 'isFocused'> & { rules: readonly Rule[] }): Html => {
  const others = errors.filter((error) => !rules.some(({ message }) => message === error));
  const marked = others.length < errors.length ? ['Please choose one that keeps every rule above.'] : [];
  return inputField({
    ...field,
    type: 'password',
    autocomplete: 'new-password',
    errors: [...marked, ...others],
    hint: rules.length > 0 && rulesList(`${field.name}-hint`, rules, errors),
  });
};

const rulesList = (id: string, rules: readonly Rule[], errors: readonly string[]): Html => html`
<ul class="rules" id="${id}">
${rules.map(({ message }) =>
  errors.includes(message)
    ? html`<li class="broken">${message} <span class="unseen">Not kept.</span></li>\n`
    : html`<li>${message}</li>\n`,
)}
</ul>`;

/** Lets a password manager know whose password it is, where the form does not ask. */
export const usernameForManagers = (email: string): Html =>
  html`<input type="text" name="username" value="${email}" autocomplete="username" readonly hidden>`;

/** What went wrong, said first and read out at once. */
export const alertBox = (sentence: string | null): Html | false =>
  sentence !== null && html`<div class="alert" role="alert"><p>${sentence}</p></div>`;

export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Where to begin after a failed try: the first field with a fault. */
export const firstFault = (fields: FieldErrors | undefined, names: readonly string[]): string | undefined =>
  names.find((name) => fields?.[name] !== undefined);
