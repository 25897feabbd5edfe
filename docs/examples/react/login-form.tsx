import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Field } from './field.tsx';
import { sentenceOf, steward } from './steward.ts';

export const LoginForm = () => {
  const queryClient = useQueryClient();
  const login = useMutation({
    mutationFn: (form: FormData) =>
      steward.loginWithSession({ email: String(form.get('email')), password: String(form.get('password')) }),
    onSuccess: () => queryClient.resetQueries(),
  });
  return (
    // React empties a form once its action is done: by `onSubmit` the address stays for the second try.
    <form
      onSubmit={(event) => {
        event.preventDefault();
        login.mutate(new FormData(event.currentTarget));
      }}
    >
      <h1>Log in</h1>
      {login.error && (
        <p role="alert" className="fault">
          {sentenceOf(login.error)}
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
