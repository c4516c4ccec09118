import{modules as o}from"./45081.shared.js";import{modules as s}from"./9277.shared.js";const t=709,d=[709],m={...o,...s};export{t as id,d as ids,m as modules};
