import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import de from "./de.json";
import en from "./en.json";
import zh from "./zh.json";
import { writeFiguresAs } from "../numbers";

const languages = { en, de, zh };
const own = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in languages) ?? "en";

i18next.use(initReactI18next).init({
  resources: Object.fromEntries(
    Object.entries(languages).map(([tag, translation]) => [tag, { translation }]),
  ),
  lng: own,
  fallbackLng: "en",
  // React escapes by itself.
  interpolation: { escapeValue: false },
});
document.documentElement.lang = own;

/** For dates, times and figures: the person's own region, where the page speaks its language. */
export const locale = navigator.languages.find((tag) => tag.startsWith(own)) ?? own;
writeFiguresAs(locale);
