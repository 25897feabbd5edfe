import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { Field } from './field.tsx';
import { messageOf, useTRPC } from './steward.ts';

export const PasswordForm = ({ email }: { email: string }) => {
  const change = useMutation(useTRPC().passwords.change.mutationOptions());
  const errors = fieldErrors(change.error);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        change.mutate({
          password: String(form.get('password')),
          new_password: String(form.get('new_password')),
        });
      }}
    >
      <h2>Change password</h2>
      {change.error && (
        <p role="alert" className="error">
          {messageOf(change.error)}
        </p>
      )}
      {change.isSuccess && <p role="status">Your password has been changed.</p>}
      {/* Shows password managers whose password it is. */}
      <input hidden readOnly name="username" autoComplete="username" value={email} />
      <Field
        label="Current password"
        name="password"
        type="password"
        autoComplete="current-password"
        errors={errors.password}
      />
      <Field
        label="New password"
        name="new_password"
        type="password"
        autoComplete="new-password"
        errors={errors.new_password}
      />
      <button type="submit" disabled={change.isPending}>
        Change password
      </button>
    </form>
  );
};
