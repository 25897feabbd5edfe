import { useId } from 'react';

type Props = {
  label: string;
  name: string;
  type?: 'email' | 'password' | 'text';
  autoComplete?: string;
  /** What is wrong with it, as Steward has said. */
  faults?: string[] | undefined;
};

/** A text field with its label, and with what is wrong read out along with it. */
export const Field = ({ label, name, type = 'text', autoComplete = 'off', faults = [] }: Props) => {
  const id = useId();
  const isInvalid = faults.length > 0;
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
        <span id={id} className="fault">
          {faults.join(' ')}
        </span>
      )}
    </label>
  );
};
