import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { loginTarget } from './login.ts';
import { formField, isFormRejected, type PageContext, type Pages, queryParameter } from './page-context.ts';
import { codePath, enrolPath, formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { inputField } from './parts.ts';
import { passkeyArea, passkeysElsewhere } from './passkeys.ts';

type Target = Awaited<ReturnType<typeof loginTarget>>;

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

/** The kinds of second factors of a user who is logged in. */
const ownKinds = async ({ reader }: PageContext): Promise<Kinds> =>
  (await reader.mfa.list({})).factors.map(({ kind }) => kind);

type Kinds = NonNullable<Awaited<ReturnType<PageContext['challengeKinds']>>>;

/** `kinds`: of the factors that the user has. `isStepUp`: of a user who is logged in, but opens what needs a second factor. */
type State = { kinds: Kinds; isRecovery: boolean; isStepUp: boolean; problem?: Problem | null };

/** Asks for a code of an app, beside which a passkey can be used; without an app for the passkey; or for a recovery code. */
const sendForm = (context: PageContext, target: Target, state: State) => {
  if (state.isRecovery) return sendRecovery(context, target, state);
  const needsPasskey = state.isStepUp && queryParameter(context, 'passkey') !== undefined;
  if (needsPasskey && !state.kinds.includes('passkey')) return sendNoPasskey(context, target);
  return state.kinds.includes('totp') && !needsPasskey
    ? sendCode(context, target, state)
    : sendPasskey(context, target, state);
};

const sendCode = (context: PageContext, target: Target, { kinds, isStepUp, problem = null }: State) => {
  const offersPasskey = kinds.includes('passkey') && context.passkeysWork();
  const otherWay =
    offersPasskey &&
    passkeyArea({
      purpose: purposeOf(isStepUp),
      label: 'Use a passkey',
      ...target,
      otherwise: 'Enter a code instead.',
    });
  return sendCard(context, target, {
    title: 'Enter your code',
    lead: `Open your authenticator app and enter its code for ${target.branding.client_name}.`,
    problem,
    isStepUp,
    hasScript: offersPasskey,
    body: html`
${codeField(problem, { label: 'Code', autocomplete: 'one-time-code', inputMode: 'numeric' })}
<button>${isStepUp ? 'Continue' : 'Log in'}</button>
${otherWay}
<p class="aside"><a href="${codePath(target.next, 'recovery')}">Use a recovery code</a></p>`,
  });
};

const sendPasskey = (context: PageContext, target: Target, { isStepUp }: State) => {
  const isHere = context.passkeysWork();
  return sendCard(context, target, {
    title: 'Use your passkey',
    lead: `Confirm your login to ${target.branding.client_name} with your passkey.`,
    problem: null,
    isStepUp,
    hasScript: isHere,
    body: html`
${
  isHere
    ? passkeyArea({
        purpose: purposeOf(isStepUp),
        label: 'Use your passkey',
        ...target,
        otherwise: 'Without it, use a recovery code.',
        isMain: true,
      })
    : passkeysElsewhere(context)
}
<p class="aside"><a href="${codePath(target.next, 'recovery')}">Use a recovery code</a></p>`,
  });
};

/** For a user who opens what needs a passkey, and has none. */
const sendNoPasskey = (context: PageContext, { branding, next }: Target) =>
  context.sendCard({
    title: 'You need a passkey',
    body: html`<p>${branding.client_name} requires a passkey here, and your account has none yet. Add one in your account: your device, your
phone, a security key or your password manager keeps it. Then come back to this page.</p>
<p><a class="button" href="/console/account">Add a passkey</a></p>
<p class="aside"><a href="${next ?? '/'}">I have added one: continue</a></p>
<p class="aside">If none of your devices can keep one, ask your administrator.</p>`,
  });

const sendRecovery = (context: PageContext, target: Target, { kinds, isStepUp, problem = null }: State) => {
  const usual = kinds.includes('totp') ? 'authenticator app' : 'passkey';
  return sendCard(context, target, {
    title: 'Enter a recovery code',
    lead: 'Each recovery code logs you in once.',
    problem,
    isStepUp,
    hidden: { recovery: '1' },
    body: html`
${codeField(problem, { label: 'Recovery code', autocomplete: 'off' })}
<button>${isStepUp ? 'Continue' : 'Log in'}</button>
<p class="aside"><a href="${codePath(target.next)}">Use your ${usual}</a></p>`,
    help: `Without the ${usual} and the codes, ask your administrator to reset your second factor.`,
  });
};

/** A user who is logged in replaces their session by one of the passkey. */
const purposeOf = (isStepUp: boolean) => (isStepUp ? 'login' : 'challenge');

/** Password managers fill in the codes that they keep. */
const codeField = (
  problem: Problem | null,
  field: Pick<Parameters<typeof inputField>[0], 'label' | 'autocomplete' | 'inputMode'>,
): Html => inputField({ ...field, name: 'code', value: '', errors: problem?.fields?.code, isFocused: true });

type Card = {
  title: string;
  lead: string;
  problem: Problem | null;
  hidden?: Record<string, string>;
  body: Html;
  isStepUp: boolean;
  help?: string;
  hasScript?: boolean;
};

const sendCard = (context: PageContext, { next, destination }: Target, card: Card) => {
  const { isStepUp, hidden, body, ...page } = card;
  return context.sendForm({
    ...page,
    action: '/login/code/',
    hidden: { next, ...hidden },
    body: html`${body}
<p class="aside">${
      isStepUp
        ? html`<a href="/">Go to the home page</a>`
        : html`<a href="${loginPath(next ?? '/')}">Back to login</a>`
    }</p>`,
    formAction: formActionSources(destination),
  });
};
