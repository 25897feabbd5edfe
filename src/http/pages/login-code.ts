import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { type LoginTarget, loginTarget } from './login.ts';
import { formField, isFormRejected, type PageContext, type Pages, queryParameter } from './page-context.ts';
import { codePath, enrolPath, formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { inputField } from './parts.ts';
import { passkeyArea, passkeysElsewhere } from './passkeys.ts';

/** `/login/code/` asks for the second factor: after `/login/` has asked for the password, and later if an app needs it. */
export const loginCodePages: Pages = {
  'GET /login/code/': async (context) => {
    const target = await loginTarget(context, queryParameter(context, 'next'));
    const session = await context.currentSession();
    if (session && !needsBeyond(context, session)) return redirectTo(context.reply, target.destination);
    const kinds = await (session ? ownKinds(context) : context.challengeKinds());
    if (!kinds) return redirectTo(context.reply, loginPath(target.next ?? '/'));
    const isRecovery = queryParameter(context, 'recovery') !== undefined;
    return sendForm(context, target, { kinds, isRecovery, isStepUp: session !== null });
  },

  'POST /login/code/': async (context) => {
    const target = await loginTarget(context, formField(context, 'next'));
    const code = formField(context, 'code');
    const session = await context.currentSession();
    const isStepUp = session !== null && lacksFactor(session);
    const { problem } = await context.submit<unknown>((caller) =>
      isStepUp ? caller.sessions.confirm({ code }) : caller.sessions.answerChallenge({ code }),
    );
    if (!problem) return redirectTo(context.reply, target.destination);
    if (problem.code === 'second-factor-required') return redirectTo(context.reply, enrolPath(target.next));
    const isOver = problem.code === 'invalid-challenge';
    // The user has completed the login with another tab.
    const isLoggedIn = (isOver || isFormRejected(problem)) && !isStepUp && (await context.currentUser());
    if (isLoggedIn) return redirectTo(context.reply, target.destination);
    const kinds = await (isStepUp ? ownKinds(context) : context.challengeKinds());
    if (isOver || !kinds) return redirectTo(context.reply, loginPath(target.next ?? '/', 'late'));
    const isRecovery = formField(context, 'recovery') !== '';
    return sendForm(context, target, { kinds, isRecovery, isStepUp, problem });
  },
};

type Session = NonNullable<Awaited<ReturnType<PageContext['currentSession']>>>;

/** Whether the user has a second factor that they have not used in this session. */
const lacksFactor = ({ methods, second_factor }: Session): boolean =>
  second_factor.is_set_up && !methods.includes('mfa');

/** Whether the session lacks a second factor, or the passkey that an app needs. */
const needsBeyond = (context: PageContext, session: Session): boolean => {
  const hasPasskey = session.methods.includes('hwk') || session.methods.includes('swk');
  return queryParameter(context, 'passkey') === undefined ? lacksFactor(session) : !hasPasskey;
};

/** The kinds of second factors of a logged-in user. */
const ownKinds = async ({ reader }: PageContext): Promise<Kinds> =>
  (await reader.mfa.list({})).factors.map(({ kind }) => kind);

type Kinds = NonNullable<Awaited<ReturnType<PageContext['challengeKinds']>>>;

/** `kinds`: of the user's factors. `isStepUp`: whether a logged-in user opens an app that needs a second factor. */
type State = { kinds: Kinds; isRecovery: boolean; isStepUp: boolean; problem?: Problem | null };

/** Asks for a code of an authenticator app, with a passkey as an alternative; for a passkey if there is no app; or for a recovery code. */
const sendForm = (context: PageContext, target: LoginTarget, state: State) => {
  const { kinds, isStepUp } = state;
  const needsPasskey = isStepUp && queryParameter(context, 'passkey') !== undefined;
  if (needsPasskey && !state.isRecovery && !kinds.includes('passkey')) return sendNoPasskey(context, target);
  const { next, destination } = target;
  const { body, ...parts } = partsOf(context, target, state, needsPasskey);
  return context.sendForm({
    problem: state.problem ?? null,
    ...parts,
    action: '/login/code/',
    hidden: { next, recovery: state.isRecovery ? '1' : null },
    body: html`${body}
<p class="aside">${
      isStepUp
        ? html`<a href="/">Go to the home page</a>`
        : html`<a href="${loginPath(next ?? '/')}">Back to login</a>`
    }</p>`,
    formAction: formActionSources(destination),
  });
};

type Parts = { title: string; lead: string; problem?: null; body: Html; help?: string; hasScript?: boolean };

const partsOf = (
  context: PageContext,
  target: LoginTarget,
  { kinds, isRecovery, isStepUp, problem = null }: State,
  needsPasskey: boolean,
): Parts => {
  const client = target.branding.client_name;
  const worksHere = context.passkeysWork();
  // A logged-in user logs in again with the passkey, which replaces their session.
  const area = { purpose: isStepUp ? 'login' : 'challenge', ...target } as const;
  const button = html`<button>${isStepUp ? 'Continue' : 'Log in'}</button>`;
  const recovery = html`<p class="aside"><a href="${codePath(target.next, 'recovery')}">Use a recovery code</a></p>`;
  if (isRecovery) {
    const usual = kinds.includes('totp') ? 'authenticator app' : 'passkey';
    return {
      title: 'Enter a recovery code',
      lead: 'Each recovery code logs you in once.',
      body: html`
${codeField(problem, { label: 'Recovery code', autocomplete: 'off' })}
${button}
<p class="aside"><a href="${codePath(target.next)}">Use your ${usual}</a></p>`,
      help: `Without the ${usual} and the codes, ask your administrator to reset your second factor.`,
    };
  }
  if (kinds.includes('totp') && !needsPasskey) {
    const offersPasskey = worksHere && kinds.includes('passkey');
    return {
      title: 'Enter your code',
      lead: `Open your authenticator app and enter its code for ${client}.`,
      hasScript: offersPasskey,
      body: html`
${codeField(problem, { label: 'Code', autocomplete: 'one-time-code', inputMode: 'numeric' })}
${button}
${offersPasskey && passkeyArea({ ...area, label: 'Use a passkey', otherwise: 'Enter a code instead.' })}
${recovery}`,
    };
  }
  const otherwise = 'Without it, use a recovery code.';
  return {
    title: 'Use your passkey',
    lead: `Confirm your login to ${client} with your passkey.`,
    problem: null,
    hasScript: worksHere,
    body: html`
${
  worksHere
    ? passkeyArea({ ...area, label: 'Use your passkey', otherwise, isMain: true })
    : passkeysElsewhere(context)
}
${recovery}`,
  };
};

/** For a user without a passkey who opens an app that needs one. */
const sendNoPasskey = (context: PageContext, { branding, next }: LoginTarget) =>
  context.sendCard({
    title: 'You need a passkey',
    body: html`<p>${branding.client_name} requires a passkey here, and your account has none yet. Add one in your account: your device, your
phone, a security key or your password manager keeps it. Then come back to this page.</p>
<p><a class="button" href="/console/account">Add a passkey</a></p>
<p class="aside"><a href="${next ?? '/'}">I have added one: continue</a></p>
<p class="aside">If none of your devices can keep one, ask your administrator.</p>`,
  });

/** Password managers can fill in the codes that they store. */
const codeField = (
  problem: Problem | null,
  field: Pick<Parameters<typeof inputField>[0], 'label' | 'autocomplete' | 'inputMode'>,
): Html => inputField({ ...field, name: 'code', value: '', errors: problem?.fields?.code, isFocused: true });
