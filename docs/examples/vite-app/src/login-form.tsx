import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Field } from './field.tsx';
import { messageOf, steward, useTRPC } from './steward.ts';

export const LoginForm = () => {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const login = useMutation({
    mutationFn: (form: FormData) =>
      steward.loginWithSession({ email: String(form.get('email')), password: String(form.get('password')) }),
    onSuccess: () => queryClient.fetchQuery(trpc.sessions.current.queryOptions()),
  });
  return (
    // `onSubmit` rather than `action`: React resets a form after its action, and the address would be lost.
    <form
      onSubmit={(event) => {
        event.preventDefault();
        login.mutate(new FormData(event.currentTarget));
      }}
    >
      <h1>Log in</h1>
      {login.error && (
        <p role="alert" className="error">
          {messageOf(login.error)}
        </p>
      )}
      <Field label="Email address" name="email" type="email" autoComplete="username" />
      <Field label="Password" name="password" type="password" autoComplete="current-password" />
      <button type="submit" disabled={login.isPending}>
        Log in
      </button>
    </form>
  );
};
