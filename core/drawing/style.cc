// One style sheet. Colours stand in palette.cc.
#include "core/drawing/style.h"

#include "core/drawing/palette.h"

namespace segue::report {

namespace {

constexpr const char* kRules = R"(
*{box-sizing:border-box}
html{font-size:100%;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:56rem;padding:4.5rem 1.5rem 6rem;background:var(--background);color:var(--text);
font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
p,figcaption,h1,h2{max-width:44rem}
.kicker{margin:0 0 .75rem;color:var(--quiet);font-size:.875rem;letter-spacing:.04em}
h1{margin:0 0 1rem;font-size:clamp(1.9rem,5vw,2.75rem);line-height:1.12;font-weight:650;letter-spacing:-.022em;
overflow-wrap:anywhere;text-wrap:balance}
.summary{margin:0;font-size:1.25rem;line-height:1.5;color:var(--quiet)}
nav{margin:2rem 0 0;padding:.8rem 0;border:solid var(--line);border-width:1px 0;font-size:.875rem;line-height:1.9}
nav a{margin-right:1.4rem;white-space:nowrap;color:var(--quiet);text-decoration:none}
nav a:hover{color:var(--text);text-decoration:underline}
section{margin:4.5rem 0 0}
h2{margin:0 0 1rem;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.012em}
h3{margin:2.5rem 0 .5rem;font-size:1.0625rem;font-weight:650}
p{margin:0 0 1rem}
.missing{color:var(--quiet);font-size:.9375rem}
code,pre{font:.875em/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
code{overflow-wrap:anywhere}
pre{margin:0 0 1rem;padding:1rem 1.1rem;overflow-x:auto;border:1px solid var(--line);border-radius:6px}
figure{margin:2rem 0 3rem}
figure svg{display:block;width:100%;height:auto;overflow:visible}
figcaption{margin:.9rem 0 0;font-size:.9375rem;line-height:1.5;color:var(--quiet)}
figcaption b{color:var(--text);font-weight:650}
.pair{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:2rem 2.5rem}
.narrow{display:none}
.wide~.wide,.narrow~.narrow{margin-top:1.75rem}
.hover{cursor:default}
.hover:hover{opacity:.45!important}
details{margin:.6rem 0 0;font-size:.9375rem}
summary{width:max-content;max-width:100%;cursor:pointer;color:var(--quiet)}
summary:hover{color:var(--text)}
details[open] summary{margin-bottom:.6rem}
.scroll{overflow:auto;max-height:48rem}
table{border-collapse:collapse;font-size:.875rem;line-height:1.35}
caption{padding:0 0 .5rem;text-align:left;font-weight:600;white-space:nowrap}
th,td{padding:.38rem .9rem .38rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th:first-child,.words th,.words td{text-align:left}
thead th{position:sticky;top:0;background:var(--background);font-weight:600;vertical-align:bottom}
tbody th{font-weight:400}
.heat td{padding:.38rem .7rem;border-right:1px solid var(--background)}
.runs{margin:2.5rem 0 0;border-top:1px solid var(--line)}
.run{display:grid;grid-template-columns:repeat(5,auto);justify-content:space-between;gap:.7rem 1.5rem;
padding:1.2rem 0 1.1rem;border-bottom:1px solid var(--line)}
.run .name{grid-column:1/-1;font-weight:650;line-height:1.3;overflow-wrap:anywhere}
.run .name::before{content:"";display:inline-block;width:.7rem;height:.7rem;margin-right:.5rem;border-radius:50%;
background:var(--own)}
.run .name small{margin-left:.75rem;font-weight:400}
.run small,.run .what{font-size:.8125rem;line-height:1.35;color:var(--quiet)}
.run .what,.run .value{display:block}
.run .value{font-size:1.5rem;line-height:1.25;letter-spacing:-.015em;white-space:nowrap}
.shaded{margin:1rem 0;padding:1.1rem 1.25rem;border:1px solid var(--line);border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere;font:.9375rem/1.85 ui-serif,Charter,"Bitstream Charter",Georgia,serif;max-height:34rem;overflow-y:auto}
.shaded span{padding:.12em 0;border-radius:2px}
.shaded i{font-style:normal;color:var(--quiet);opacity:.6}
.key{display:flex;flex-wrap:wrap;gap:.3rem .5rem;align-items:center;font-size:.8125rem;color:var(--quiet)}
.key span{display:inline-block;width:1.7rem;height:.85rem;border-radius:2px}
footer{margin:6rem 0 0;padding-top:1rem;border-top:1px solid var(--line);font-size:.8125rem;color:var(--quiet)}
@media (max-width:44rem){
body{padding:2.5rem 1.1rem 4rem;font-size:1rem}
.summary{font-size:1.0625rem}
section{margin-top:3.5rem}
.wide{display:none}
.narrow{display:block}
.pair{grid-template-columns:minmax(0,1fr)}
.run{grid-template-columns:repeat(2,minmax(0,1fr));row-gap:.9rem}
.run .name small{display:block;margin:.2rem 0 0}
}
@media print{
body{max-width:none;padding:0 .5rem;font-size:10pt}
nav,details:not([open]){display:none}
section{margin-top:2rem}
figure{margin:.8rem 0 1.6rem}
.wide svg{width:88%}
h2,h3{break-after:avoid}
figure,.run,tr{break-inside:avoid}
.scroll,.shaded{max-height:none;overflow:visible}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
.wide{display:block}
.narrow{display:none}
.pair{grid-template-columns:repeat(2,minmax(0,1fr))}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
)";

// Shades of losses, shares and differences: one hue each, on any background.
std::string shades() {
  std::string rules;
  for (int level = 1; level <= 8; ++level)
    rules += ".h" + std::to_string(level) + "{background:rgb(213 94 0/" + std::to_string(level * 9) + "%)}" + ".q" +
             std::to_string(level) + "{background:rgb(0 114 178/" + std::to_string(level * 8) + "%)}";
  for (int level = 1; level <= 4; ++level) {
    const std::string opacity = std::to_string(level * 17);
    rules += ".p" + std::to_string(level) + "{background:rgb(0 114 178/" + opacity + "%)}";
    rules += ".n" + std::to_string(level) + "{background:rgb(213 94 0/" + opacity + "%)}";
  }
  return rules;
}

}  // namespace

std::string style_sheet() {
  return ":root{color-scheme:light dark;" + light_variables() +
         "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark_variables() + "}}" + kRules + shades() + "\n";
}

}  // namespace segue::report
