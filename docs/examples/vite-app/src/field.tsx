import { useId } from 'react';

type Props = {
  label: string;
  name: string;
  type?: 'email' | 'password' | 'text';
  autoComplete?: string;
  /** Steward's messages about this field. */
  errors?: string[] | undefined;
};

/** A text field with its label and its errors, which screen readers announce with it. */
export const Field = ({ label, name, type = 'text', autoComplete = 'off', errors = [] }: Props) => {
  const id = useId();
  const isInvalid = errors.length > 0;
  return (
    <label>
      {label}
      <input
        name={name}
        type={type}
        autoComplete={autoComplete}
        required
        aria-invalid={isInvalid}
        aria-describedby={isInvalid ? id : undefined}
      />
      {isInvalid && (
        <span id={id} className="error">
          {errors.join(' ')}
        </span>
      )}
    </label>
  );
};
