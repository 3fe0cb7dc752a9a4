import createClient from "openapi-fetch";
import type { paths } from "./schema";
import type { Problem } from "./types";

export const api = createClient<paths>({ baseUrl: location.origin });

/** What the server refused, or what kept it from answering; `code` is stable, `message` a sentence. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** The server answered, and will not answer otherwise if it is asked again. */
  get isRefusal(): boolean {
    return this.code !== UNREACHABLE && this.code !== FAILED;
  }
}

const UNREACHABLE = "unreachable";
const FAILED = "failed";

/** Give the data of an answer, or throw an `ApiError`. */
export async function ask<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  let got: { data?: T; error?: unknown };
  try {
    got = await answer;
  } catch {
    throw new ApiError(UNREACHABLE, "");
  }
  if (got.error !== undefined) {
    const problem = got.error as Partial<Problem>;
    throw new ApiError(problem.code ?? FAILED, problem.message ?? "");
  }
  return got.data as T;
}
