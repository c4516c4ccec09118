import{modules as o}from"./15922.shared.js";import{modules as s}from"./58113.shared.js";const t=5922,d=[5922],m={...o,...s};export{t as id,d as ids,m as modules};
